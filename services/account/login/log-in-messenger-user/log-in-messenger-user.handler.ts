import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { appStream } from '../../../../schemas/events/account/app-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { messengerUserText, type MessengerUser } from '../../../../schemas/http/app-signature.ts';
import { outOfWindow, Refusal } from '../../../../shared/errors/refusal.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { appFold, appIdOf, liveApp, type App } from '../../../../shared/auth/app.ts';
import { fittedProfile } from '../../users/domain/profile.ts';
import { IdentityIds } from '../identity-ids.ts';
import { Logins, type LoggedIn } from '../logins.ts';
import { useOnce } from '../use-once.ts';
import { readSignature } from '../../../../shared/keys/signatures/read-signature.ts';
import { recoverSigner } from '../../../../shared/keys/signatures/recover-signer.ts';

const WINDOW_MS = 300_000;
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
    // Without the last byte, which the same signature may have in two forms.
    const proof = { text: sig.toLowerCase().slice(0, -2), keptSeconds: 0 };
    const redemption = await useOnce(this.transactor, proof, { appId, wish: {}, used }, metadata);
    const identityId = this.identityIds.keyedIdentity('messenger', messengerId);
    const identity = { identityId, method: 'messenger', label: messengerId } as const;
    return this.logins.complete({ identity, redemption, appId, device, profile, domainId }, metadata);
  }

  private check(app: App, { sig, ...user }: MessengerUser & { sig: string }): void {
    const now = this.transactor.clock.now();
    if (Math.abs(user.timestamp - now) > WINDOW_MS) {
      throw outOfWindow('timestamp is Unix milliseconds, within 5 minutes of now', now);
    }
    const signer = recoverSigner(messengerUserText(user), readSignature(sig));
    if (signer === undefined || !app.signers.includes(signer)) {
      throw new Refusal('bot_signature_invalid', 'the signature is not by a key of the app over these members');
    }
    if (!app.allowsBot) {
      throw new Refusal('forbidden', 'the operator has not allowed this app to speak for users of the messenger');
    }
  }
}

const used = (): Refusal => new Refusal('request_replayed', 'sign each login anew');
