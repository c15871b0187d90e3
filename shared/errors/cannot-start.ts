/** The program cannot start for a reason outside of it. The message is one line and says what to do. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}

/** A server that the program needs does not answer. Worth retrying: the server may be starting or overloaded. */
export class DoesNotAnswer extends CannotStart {}
