import { Controller, Inject } from '@nestjs/common';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import type { IssuerMetadata } from '../../../../schemas/http/account/issuer-routes.ts';
import { AuditKey } from '../../../../shared/audit/audit-key.ts';
import type { TokenIssuer } from '../../../../shared/auth/access-tokens.jose.ts';
import { Implements } from '../../../../shared/edge/requests/implements.ts';
import { TOKEN_ISSUER } from '../../../../shared/edge/tokens.ts';
import { SigningKeys } from '../signing-keys.ts';

const { publicKeys, openidConfiguration, authorizationServer } = accountRoutes;

@Controller()
export class PublishKeysHttp {
  constructor(
    private readonly keys: SigningKeys,
    private readonly auditKey: AuditKey,
    @Inject(TOKEN_ISSUER) private readonly issuer: TokenIssuer,
  ) {}

  @Implements(publicKeys)
  async published() {
    const { keys } = await this.keys.published();
    return { keys: [...keys, this.auditKey.published] };
  }

  @Implements(openidConfiguration)
  openidMetadata() {
    return this.metadata();
  }

  @Implements(authorizationServer)
  serverMetadata() {
    return this.metadata();
  }

  private metadata(): Promise<IssuerMetadata> {
    const issuer = this.issuer.issuer();
    return Promise.resolve({
      issuer,
      jwks_uri: issuer + publicKeys.path,
      id_token_signing_alg_values_supported: ['ES256'],
      subject_types_supported: ['public'],
      response_types_supported: [],
    });
  }
}
