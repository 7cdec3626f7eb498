"""What every face needs: the API client, the rules, the commands. It knows no face and no framework."""
