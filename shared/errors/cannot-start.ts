/** Something outside the program is in its way; the message says in one line what to do. */
export class CannotStart extends Error {
  override readonly name: string = 'CannotStart';
}
