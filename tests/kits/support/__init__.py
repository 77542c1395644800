"""What the kits share: case runner, raw client, scripted upstream, the router under test."""
