import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { IssueChallenge } from './issue-challenge.handler.ts';
import { LogInWithWallet } from './log-in-with-wallet.handler.ts';
import { addressKey } from '../../../../shared/edge/limits/rate-limits.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';

const { walletChallenge, logInWithWallet } = accountRoutes;

@Controller()
export class LogInWithWalletHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(walletChallenge)
  challenge({ query, caller, context }: ParsedRequest<typeof walletChallenge>) {
    const { appId, origin } = caller;
    return this.commands.execute(
      new IssueChallenge({ appId, origin, ...query, address: addressKey(context.ip) }, context.metadata),
    );
  }

  @Implements(logInWithWallet)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithWallet>) {
    const { signer, signature, nonce } = body;
    const signed = { signer, signature, nonce, address: addressKey(context.ip) };
    const login = { ...caller, ...signed, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInWithWallet(login, context.metadata)));
  }
}
