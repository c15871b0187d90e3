/** What an export does not prove, and where. */
export class ExportNotProven extends Error {
  override readonly name = 'ExportNotProven';
}
