import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { appStream } from '../../../schemas/events/app-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { SignatureEvent } from '../../../schemas/events/request-events.ts';
import { messengerUserText, type MessengerUser } from '../../../schemas/http/app-signature.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { keptForRepeats } from '../../../shared/event-store/permanent-streams.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { appFold, appIdOf, liveApp, type App } from '../domain/app.ts';
import { fittedProfile } from '../domain/profile.ts';
import { sessionIdFrom } from '../domain/session.ts';
import { IdentityIds } from '../edge/identity-ids.ts';
import { Logins, type LoggedIn, type Redemption } from '../edge/logins.ts';
import { readSignature } from '../../../shared/keys/read-signature.ts';
import { recoverSigner } from '../../../shared/keys/recover-signer.ts';

const WINDOW_MS = 300_000;
const usedFold = {
  initial: undefined as Redemption | undefined,
  evolve: (used: Redemption | undefined, { data }: SignatureEvent, _time: number, eventId: string) =>
    used ?? { sessionId: data.sessionId ?? '', eventId },
};

/** Logs in a user of the messenger on the word of an app, which the operator allowed to speak for them. */
export class LogInMessengerUser extends Command<LoggedIn> {
  constructor(
    readonly login: MessengerUser & {
      sig: string;
      /** The header `user-agent`. */
      device: string | undefined;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(LogInMessengerUser)
export class LogInMessengerUserHandler implements ICommandHandler<LogInMessengerUser> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly identityIds: IdentityIds,
  ) {}

  async execute({ login, metadata: { correlationId, traceparent } }: LogInMessengerUser): Promise<LoggedIn> {
    const { messengerId, username, firstname, lastname, domainId, sig, device, apiKey } = login;
    const profile = fittedProfile({ username, firstname, lastname }, { allowLocalHttp: false });
    const { state: known } = await this.transactor.load(appStream(appIdOf(apiKey)), appFold);
    if (!known) throw new Refusal('api_key_unknown', 'no app has this key');
    const app = liveApp(known);
    const { id: appId } = app;
    this.check(app, login);
    const metadata: EventMetadata = {
      correlationId,
      actor: { type: 'app', id: appId },
      app: appId,
      ...(traceparent !== undefined && { traceparent }),
    };
    const redemption = await this.useOnce(sig, appId, metadata);
    const identityId = this.identityIds.keyedIdentity('messenger', messengerId);
    const identity = { identityId, method: 'messenger', label: messengerId } as const;
    return this.logins.complete({ identity, redemption, appId, device, profile, domainId, used }, metadata);
  }

  private check(app: App, { sig, ...user }: MessengerUser & { sig: string }): void {
    if (Math.abs(user.timestamp - this.transactor.clock.now()) > WINDOW_MS) {
      throw new Refusal('timestamp_out_of_window', 'timestamp is Unix milliseconds, within 5 minutes of now');
    }
    const signer = recoverSigner(messengerUserText(user), readSignature(sig));
    if (signer === undefined || !app.signers.includes(signer)) {
      throw new Refusal('bot_signature_invalid', 'the signature is not by a key of the app over these members');
    }
    if (!app.allowsBot) {
      throw new Refusal('forbidden', 'the operator has not allowed this app to speak for users of the messenger');
    }
  }

  /**
   * The request that appends first has used the signature; the same again completes its login, should a crash have
   * interrupted it. The stream is named without the last byte, which the same signature may have in two forms.
   */
  private async useOnce(sig: string, appId: string, metadata: EventMetadata): Promise<Redemption> {
    const sessionId = sessionIdFrom(this.transactor.ids.token(26));
    const { state: redemption } = await this.transactor.transact<Redemption | undefined, SignatureEvent>({
      stream: `signature-${sha256(sig.toLowerCase().slice(0, -2))}`,
      fold: usedFold,
      keep: keptForRepeats,
      metadata,
      decide: (before) => (before ? [] : [{ type: 'SignatureUsed', data: { appId, sessionId } }]),
    });
    if (!redemption?.sessionId) throw used();
    return redemption;
  }
}

const used = (): Refusal => new Refusal('request_replayed', 'sign each login anew');
