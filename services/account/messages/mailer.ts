export interface MailMessage {
  /** One address, which `emailAddress` of the contracts accepts. */
  to: string;
  subject: string;
  text: string;
  html: string;
}

export interface Mailer {
  /**
   * Returns when the mail server has taken the message, within some seconds.
   * @throws Undeliverable, and Refusal `dependency_unavailable`
   */
  send(message: MailMessage): Promise<void>;
}

/** Bound to `null` where no mail server is set up. */
export const MAILER = Symbol('Mailer');
