export interface MailMessage {
  /** One address, in the form that `emailAddress` of the contracts accepts. */
  to: string;
  subject: string;
  text: string;
  html: string;
}

export interface Mailer {
  /**
   * Returns when the mail server has accepted the message, within some seconds.
   * @throws Undeliverable, and Refusal `dependency_unavailable`
   */
  send(message: MailMessage): Promise<void>;
}

/** Bound to `null` if no mail server is configured. */
export const MAILER = Symbol('Mailer');
