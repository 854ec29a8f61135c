/** What was asked of the program cannot be done as asked. The message is one sentence that says what to do; the exit status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
