/**
 * The server of a channel refuses this recipient, and would again. Whoever asked is answered as if the message were sent:
 * else the answer would tell whom the bot or the mail server knows.
 */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable';
}
