import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { apiKeyFrom, appFold, appIdOf, appStream, registerApp } from '../domain/app.ts';
import { checkRedirectUri, normaliseOrigin } from '../domain/app-addresses.ts';
import { addressOfKey } from '../edge/recover-signer.ethers.ts';
import { RegisterApp, type RegisteredApp } from './register-app.command.ts';

const NAME_CHARACTERS_MAX = 50;

@CommandHandler(RegisterApp)
export class RegisterAppHandler implements ICommandHandler<RegisterApp> {
  constructor(private readonly transactor: Transactor) {}

  /** @throws Refusal validation_failed */
  async execute({ app, metadata }: RegisterApp): Promise<RegisteredApp> {
    const name = app.name.trim();
    if (name === '' || name.length > NAME_CHARACTERS_MAX)
      throw new Refusal('validation_failed', 'name has 1 to 50 characters');
    if (app.origins.length === 0) throw new Refusal('validation_failed', 'an app has at least one origin');
    const apiKey = apiKeyFrom(this.transactor.ids.token(32));
    const signingKey = `0x${sha256(this.transactor.ids.token(52))}`; // 260 bits of chance in 256
    const registration = {
      id: appIdOf(apiKey),
      name,
      apiKey,
      origins: [...new Set(app.origins.map(normaliseOrigin))],
      redirectUris: [...new Set(app.redirectUris.map(checkRedirectUri))],
      scheme: app.scheme,
    };
    await this.transactor.transact({
      stream: appStream(registration.id),
      fold: appFold,
      metadata,
      decide: (state) => registerApp(state, { ...registration, signer: addressOfKey(signingKey) }),
    });
    return { ...registration, signingKey };
  }
}
