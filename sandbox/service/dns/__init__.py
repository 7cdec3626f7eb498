"""The DNS of the account's domains: what their zones hold, and two resolvers on loopback that answer for them."""
