import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes, type Challenge, type Session } from '../../../schemas/http/account-routes.ts';
import { IssueChallenge } from './issue-challenge.handler.ts';
import { LogInWithWallet } from './log-in-with-wallet.handler.ts';
import { addressKey } from '../../../shared/edge/rate-limits.ts';
import { Implements, type ParsedRequest, type CommandAnswer } from '../../../shared/edge/implements.ts';

const { walletChallenge, logInWithWallet } = accountRoutes;

@Controller()
export class LogInWithWalletHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(walletChallenge)
  challenge({ query, caller, context }: ParsedRequest<typeof walletChallenge>): Promise<Challenge> {
    const { appId, origin } = caller;
    return this.commands.execute(
      new IssueChallenge({ appId, origin, ...query, address: addressKey(context.ip) }, context.metadata),
    );
  }

  @Implements(logInWithWallet)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithWallet>): Promise<CommandAnswer<Session>> {
    const { appId, origin, user } = caller;
    const { signer, signature, nonce } = body;
    const signed = { signer, signature, nonce, address: addressKey(context.ip) };
    const login = { appId, origin, user, ...signed, device: context.userAgent };
    const { session, sessionId, position } = await this.commands.execute(new LogInWithWallet(login, context.metadata));
    return { body: session, position, sessionId };
  }
}
