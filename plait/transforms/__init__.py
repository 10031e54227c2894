"""What users call: arguments are taken apart here, and the rules live below."""
