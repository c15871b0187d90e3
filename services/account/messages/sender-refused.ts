/**
 * The server of a channel refuses this service as the sender: no message is delivered until the operator fixes that.
 */
export class SenderRefused extends Error {
  override readonly name = 'SenderRefused';
}
