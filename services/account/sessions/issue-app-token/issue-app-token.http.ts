import { Controller, Inject } from '@nestjs/common';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { AppToken } from '../../../schemas/http/session-routes.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { IDS } from '../../../shared/edge/tokens.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import { SessionTokens } from '../edge/session-tokens.jose.ts';

const { issueAppToken } = accountRoutes;

@Controller()
export class IssueAppTokenHttp {
  constructor(
    private readonly tokens: SessionTokens,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  @Implements(issueAppToken)
  issue({ caller }: ParsedRequest<typeof issueAppToken>): Promise<AppToken> {
    return this.tokens.issueForApp({ appId: caller.appId, signer: caller.signer }, this.ids.token(26));
  }
}
