"""The vocabulary: each op in one place, with its type, meaning, rules and lowering."""
