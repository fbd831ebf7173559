/* Prints the text of every HSA status that the runtime has one for (tests/check_status.sh). */
#include <hsa/hsa.h>
#include <stdio.h>

int main(void) {
  for (int status = 0; status < 0x4000; ++status) {
    const char* text = NULL;
    if (hsa_status_string((hsa_status_t)status, &text) == HSA_STATUS_SUCCESS) printf("%d %s\n", status, text);
  }
  return 0;
}
