import nodemailer from 'nodemailer';
import { unavailable } from '../../../shared/errors/refusal.ts';
import { Semaphore } from '../../../shared/primitives/waiting/semaphore.ts';
import type { Mailer, MailMessage } from './mailer.ts';
import { Undeliverable } from './undeliverable.ts';

/** Less than the time of a request, whatever the server waits for. */
export const SENT_WITHIN_MS = 3_500;
/** Mail servers refuse clients with many connections. */
const CONNECTIONS_MAX = 10;

export interface MailServer {
  /** smtp://user:password@host:port, or smtps: if TLS comes first. */
  url: string;
  /** An address, optionally with a name before it. */
  from: string;
  /** Whether to refuse a server that offers no TLS. */
  requireTls: boolean;
}

/** Sends each message on its own connection to a mail server. */
export class SmtpMailer implements Mailer {
  private readonly transport: ReturnType<typeof createTransport>;
  private readonly connections = new Semaphore(CONNECTIONS_MAX);

  /** @param sentWithinMs how long a message may take, with its second attempt */
  constructor(
    private readonly server: MailServer,
    private readonly sentWithinMs = SENT_WITHIN_MS,
  ) {
    this.transport = createTransport(server, sentWithinMs);
  }

  async send(message: MailMessage): Promise<void> {
    const signal = AbortSignal.timeout(this.sentWithinMs);
    try {
      await this.connections.acquire(signal);
      try {
        await this.sendTwice(message, signal);
      } finally {
        this.connections.release();
      }
    } catch (error) {
      throw refusalOf(error);
    }
  }

  /** Retries once if the connection failed, or the server says that it may accept the message later. */
  private async sendTwice(message: MailMessage, signal: AbortSignal): Promise<void> {
    try {
      await this.sendOnce(message, signal);
    } catch (error) {
      if ((error as SmtpError).permanent === true || signal.aborted) throw error;
      await this.sendOnce(message, signal);
    }
  }

  private async sendOnce({ to, ...message }: MailMessage, signal: AbortSignal): Promise<void> {
    // An address in an object is one recipient, whatever it contains; as text it would be parsed as a list.
    await this.transport.sendMail({
      ...message,
      from: this.server.from,
      to: { name: '', address: to },
      signal,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  }
}

const createTransport = ({ url, requireTls }: MailServer, sentWithinMs: number) =>
  nodemailer.createTransport({
    url,
    requireTLS: requireTls,
    disableFileAccess: true,
    disableUrlAccess: true,
    connectionTimeout: sentWithinMs,
    greetingTimeout: sentWithinMs,
    socketTimeout: sentWithinMs,
    dnsTimeout: sentWithinMs,
    socketCloseTimeout: 0,
  });

interface SmtpError {
  code?: string;
  command?: string;
  permanent?: boolean;
  responseCode?: number;
}

/** The server's text may quote the recipient, so only codes are passed on. */
const refusalOf = (error: unknown): Error => {
  const { code = 'no answer', command, permanent, responseCode } = error as SmtpError;
  const reason = [code, command, responseCode].filter((part) => part !== undefined).join(' ');
  if (permanent === true && command === 'RCPT TO') return new Undeliverable(`the mail server refuses: ${reason}`);
  return unavailable('the mail server does not take the message', new Error(reason));
};
