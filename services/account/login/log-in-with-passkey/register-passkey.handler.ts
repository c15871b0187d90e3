import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { passkeyStream } from '../../../../schemas/events/account/passkey-events.ts';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { CreationOptions, RegisteredCredential } from '../../../../schemas/http/account/passkey-routes.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { userFold, userIdFrom } from '../../users/domain/user.ts';
import { LoginStates } from '../login-states.ts';
import { Logins, type LoggedIn, type LoginCaller, type LoginRequest } from '../logins.ts';
import { ALGORITHMS, passkeyFold, registerPasskey, userHandleOf, type Passkey } from './passkey.ts';
import { PASSKEY_TIMEOUT_MS, PasskeyStates } from './passkey-states.ts';

/** Begins to make a passkey: for a new user, or with a bearer token one that links. */
export class AskToRegisterPasskey extends Command<{ state: string; options: CreationOptions }> {
  constructor(
    readonly caller: LoginCaller,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(AskToRegisterPasskey)
export class AskToRegisterPasskeyHandler implements ICommandHandler<AskToRegisterPasskey> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly states: PasskeyStates,
  ) {}

  async execute({ caller, metadata }: AskToRegisterPasskey) {
    const { user } = caller;
    if (user) await this.logins.requireMayChangeLogins(user);
    const userId = user?.userId ?? userIdFrom(this.transactor.ids.token(26));
    const { state, challenge, rp } = await this.states.begin(caller, 'register', metadata, userId);
    const { username, passkeys } = await this.known(userId, rp.id);
    const options: CreationOptions = {
      challenge,
      timeout: PASSKEY_TIMEOUT_MS,
      rp,
      // A browser shows these names where the person chooses a passkey.
      user: { id: userHandleOf(userId), name: username ?? userId, displayName: username ?? rp.name },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: passkeys.map(({ credentialId: id, transports }) => ({ type: 'public-key', id, transports })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'preferred' },
      attestation: 'none',
    };
    return { state, options };
  }

  /** An authenticator keeps one passkey per user and RP id. Those that are named are excluded, and so not replaced. */
  private async known(userId: string, rpId: string): Promise<{ username: string | null; passkeys: Passkey[] }> {
    const { state: user } = await this.transactor.load(userStream(userId), userFold);
    const { username = null, identities = [] } = user.entity ?? {};
    const ids = identities.filter(({ method }) => method === 'passkey').map(({ id }) => id);
    const loaded = await Promise.all(ids.map((id) => this.transactor.load(passkeyStream(id), passkeyFold)));
    return { username, passkeys: loaded.flatMap(({ state }) => (state?.rpId === rpId ? [state] : [])) };
  }
}

/** Registers the passkey that a browser made, and logs in with it. */
export class RegisterPasskey extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & { state: string; credential: RegisteredCredential },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(RegisterPasskey)
export class RegisterPasskeyHandler implements ICommandHandler<RegisterPasskey> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly states: PasskeyStates,
    private readonly loginStates: LoginStates,
  ) {}

  async execute({ login, metadata }: RegisterPasskey): Promise<LoggedIn> {
    const { state, credential, appId, device, user } = login;
    await this.logins.requireStillTrusted(user);
    const { userId, rpId, expected, returning } = await this.states.open(state, login, 'register');
    // Loaded with the first passkey: the library is a tenth of the modules of a program.
    const { readRegistration } = await import('./passkeys.webauthn.ts');
    const made = await readRegistration(credential, expected);
    const identity = this.states.identityOf({ rpId, ...made });
    const { identityId } = identity;
    const stream = passkeyStream(identityId);
    const decide = (passkey: Passkey | undefined) => registerPasskey(passkey, { userId, identityId, rpId, ...made });
    // Decided once without an append, so that a refusal uses up no state.
    decide((await this.transactor.load(stream, passkeyFold)).state);
    const proof = { codeHash: sha256(credential.response.attestationObject), identity };
    const proven = await this.loginStates.redeemProof(state, returning, proof, metadata);
    await this.transactor.transact({ stream, fold: passkeyFold, metadata, decide });
    return this.logins.complete({ ...proven, userId, appId, device }, metadata);
  }
}
