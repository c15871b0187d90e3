import { Controller, Inject } from '@nestjs/common';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { IDS } from '../../../../shared/edge/tokens.ts';
import type { Ids } from '../../../../shared/primitives/ids.ts';
import { SessionTokens } from '../session-tokens.jose.ts';

const { issueAppToken } = accountRoutes;

@Controller()
export class IssueAppTokenHttp {
  constructor(
    private readonly tokens: SessionTokens,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  @Implements(issueAppToken)
  issue({ caller }: ParsedRequest<typeof issueAppToken>) {
    return this.tokens.issueForApp({ appId: caller.appId, signer: caller.signer }, this.ids.token(26));
  }
}
