/* Tell the harness what a reproducer saw.
 *
 * Each call appends one JSON line to the file named by $REPRO_EVENTS; without that variable it does nothing.
 * C99 and C++11, header only. Text is UTF-8. An exit status is always enough: these calls only add detail.
 */
#ifndef REPRO_H
#define REPRO_H

#include <stdio.h>
#include <stdlib.h>

#define REPRO_SKIP 77   /* exit status: this case says nothing here */
#define REPRO_BROKEN 99 /* exit status: the environment is broken, not the software under test */

static inline FILE *repro_open(void) {
  const char *path = getenv("REPRO_EVENTS");
  if (path == NULL || *path == '\0') return NULL;
  FILE *file = fopen(path, "a");
  if (file == NULL) perror(path);
  return file;
}

static inline void repro_put_string(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text != '\0'; ++text) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      fprintf(file, "\\%c", c);
    } else if (c < 0x20) {
      fprintf(file, "\\u%04x", c);
    } else {
      fputc(c, file);
    }
  }
  fputc('"', file);
}

/* Record that `name` was seen to be `value`. */
static inline void repro_observe(const char *name, const char *value) {
  FILE *file = repro_open();
  if (file == NULL) return;
  fputs("{\"observe\": {", file);
  repro_put_string(file, name);
  fputs(": ", file);
  repro_put_string(file, value);
  fputs("}}\n", file);
  fclose(file);
}

/* Record a measurement. JSON has no infinity and no NaN: such a value becomes null. */
static inline void repro_metric(const char *name, double value, const char *unit) {
  FILE *file = repro_open();
  if (file == NULL) return;
  fputs("{\"metric\": {\"name\": ", file);
  repro_put_string(file, name);
  if (value - value == 0.0) {
    fprintf(file, ", \"value\": %.17g, \"unit\": ", value);
  } else {
    fputs(", \"value\": null, \"unit\": ", file);
  }
  repro_put_string(file, unit);
  fputs("}}\n", file);
  fclose(file);
}

/* Name the failure, as the table shows it. */
static inline void repro_signature(const char *text) {
  FILE *file = repro_open();
  if (file == NULL) return;
  fputs("{\"signature\": ", file);
  repro_put_string(file, text);
  fputs("}\n", file);
  fclose(file);
}

#endif
