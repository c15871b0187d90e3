/**
 * The server of a channel refuses this recipient permanently. The caller gets the same answer as for a sent message:
 * otherwise it would reveal which recipients the bot or the mail server knows.
 */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable';
}
