/** The program cannot start for a reason outside of it. The message is one line and says what to do. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}
