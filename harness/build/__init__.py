"""Turn a planned image into a built one: Dockerfiles (pure), bases, images, probe."""
