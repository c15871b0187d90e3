/** An export could not be verified. The message says why, and at which line. */
export class ExportNotProven extends Error {
  override readonly name = 'ExportNotProven';
}
