"""What assistants (clients of the Model Context Protocol) may see and do in a person's name. Free of the SDK."""
