"""Tools of assistants (clients of the Model Context Protocol), and the limits of what they see and do. No SDK."""
