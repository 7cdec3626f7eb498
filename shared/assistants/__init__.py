"""What assistants (language models over the Model Context Protocol) get of the commands. Pure, and free of the SDK."""
