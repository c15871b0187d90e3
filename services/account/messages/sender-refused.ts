/** The server of a channel refuses whoever sends: until the operator changes that, nobody gets a message. */
export class SenderRefused extends Error {
  override readonly name = 'SenderRefused';
}
