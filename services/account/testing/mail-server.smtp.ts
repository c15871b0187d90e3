import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

interface ReceivedMail {
  from: string;
  /** Of the envelope. */
  to: string[];
  /** Headers and body, as received. */
  source: string;
}

const refused = (responseCode: number, message: string): Error => Object.assign(new Error(message), { responseCode });

/** A real mail server on a port of its own. It refuses what it is told to. */
export class MailServerUnderTest {
  readonly received: ReceivedMail[] = [];
  /** The answer to a recipient, such as 550; without it all are taken. */
  recipientAnswer: number | undefined;
  /** The answer to a sender, such as 421. */
  senderAnswer: number | undefined;
  /** Before these answers are given, each once, no sender is taken. */
  readonly firstSenderAnswers: number[] = [];
  /** Takes what it is sent, and answers no recipient. */
  hangs = false;
  private readonly server: SMTPServer;

  /** @param credentials those that it demands; without them it takes mail of anybody */
  constructor(private readonly credentials?: { user: string; password: string }) {
    this.server = new SMTPServer({
      logger: false,
      authOptional: credentials === undefined,
      // What a server in the same network often is.
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) => {
        if (username === credentials?.user && password === credentials?.password) done(null, { user: username });
        else done(refused(535, 'no such user'));
      },
      onMailFrom: (_address, _session, done) => {
        const answer = this.firstSenderAnswers.shift() ?? this.senderAnswer;
        done(answer === undefined ? null : refused(answer, 'not this sender'));
      },
      onRcptTo: ({ address }, _session, done) => {
        if (this.hangs) return;
        done(this.recipientAnswer === undefined ? null : refused(this.recipientAnswer, `no mailbox of ${address}`));
      },
      onData: (stream, { envelope: { mailFrom, rcptTo } }, done) => {
        void text(stream).then((source) => {
          const from = mailFrom === false ? '' : mailFrom.address;
          this.received.push({ from, to: rcptTo.map(({ address }) => address), source });
          done();
        });
      },
    });
    // A client that goes away while the server hangs.
    this.server.on('error', () => undefined);
  }

  get url(): string {
    const { user, password } = this.credentials ?? {};
    const login = user === undefined ? '' : `${user}:${encodeURIComponent(password ?? '')}@`;
    return `smtp://${login}127.0.0.1:${String((this.server.server.address() as AddressInfo).port)}`;
  }

  async start(): Promise<this> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(resolve);
    });
  }
}
