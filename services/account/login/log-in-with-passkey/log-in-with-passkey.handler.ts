import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { passkeyStream } from '../../../../schemas/events/account/passkey-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { RequestOptions, SignedCredential } from '../../../../schemas/http/account/passkey-routes.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { LoginStates } from '../login-states.ts';
import { Logins, type LoggedIn, type LoginCaller, type LoginRequest } from '../logins.ts';
import { passkeyFold, unknownPasskey, usePasskey, type Passkey } from './passkey.ts';
import { PASSKEY_TIMEOUT_MS, PasskeyStates } from './passkey-states.ts';

/** Begins a login with a passkey. */
export class AskForPasskey extends Command<{ state: string; options: RequestOptions }> {
  constructor(
    readonly caller: LoginCaller,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(AskForPasskey)
export class AskForPasskeyHandler implements ICommandHandler<AskForPasskey> {
  constructor(private readonly states: PasskeyStates) {}

  async execute({ caller, metadata }: AskForPasskey) {
    const { state, challenge, rp } = await this.states.begin(caller, 'log in', metadata);
    const options: RequestOptions = {
      challenge,
      timeout: PASSKEY_TIMEOUT_MS,
      rpId: rp.id,
      allowCredentials: [],
      userVerification: 'preferred',
    };
    return { state, options };
  }
}

/** Logs in with what a passkey signed. */
export class LogInWithPasskey extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & { state: string; credential: SignedCredential },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(LogInWithPasskey)
export class LogInWithPasskeyHandler implements ICommandHandler<LogInWithPasskey> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly states: PasskeyStates,
    private readonly loginStates: LoginStates,
  ) {}

  async execute({ login, metadata }: LogInWithPasskey): Promise<LoggedIn> {
    const { state, credential, appId, device } = login;
    const { rpId, expected, returning } = await this.states.open(state, login, 'log in');
    const identity = this.states.identityOf({ rpId, credentialId: credential.id });
    const { identityId } = identity;
    const passkey = await this.known(identityId);
    const { readLogin } = await import('./passkeys.webauthn.ts');
    const counter = await readLogin(credential, passkey, expected);
    await this.transactor.transact({
      stream: passkeyStream(identityId),
      fold: passkeyFold,
      metadata,
      decide: (before) => usePasskey(before, { counter, stateHash: sha256(state) }),
    });
    const proof = { codeHash: sha256(credential.response.signature), identity };
    const proven = await this.loginStates.redeemProof(state, returning, proof, metadata);
    return this.logins.complete({ ...proven, appId, device }, metadata);
  }

  /** Returns a passkey that its user still has. One that was unlinked or erased must not register a new user. */
  private async known(identityId: string): Promise<Passkey> {
    const { state: passkey } = await this.transactor.load(passkeyStream(identityId), passkeyFold);
    if (!passkey || (await this.logins.userOf(identityId)) !== passkey.userId) throw unknownPasskey();
    return passkey;
  }
}
