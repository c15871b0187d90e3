import { z } from 'zod';
import { route } from '../route.ts';

/** RFC 8414: what a library needs that knows the issuer alone. Nobody is signed in by these answers. */
export const issuerMetadata = z.object({
  issuer: z.string().describe('iss of every token'),
  jwks_uri: z.string(),
  id_token_signing_alg_values_supported: z.array(z.literal('ES256')).length(1),
  subject_types_supported: z.array(z.literal('public')).length(1),
  response_types_supported: z.array(z.string()).length(0),
});
export type IssuerMetadata = z.infer<typeof issuerMetadata>;

const metadata = {
  service: 'account',
  method: 'GET',
  summary: 'Where the keys are that verify tokens, for a library that knows the issuer',
  auth: 'none',
  status: 200,
  answer: issuerMetadata,
  problems: [],
} as const;

export const issuerRoutes = {
  openidConfiguration: route({ ...metadata, path: '/.well-known/openid-configuration' }),
  authorizationServer: route({ ...metadata, path: '/.well-known/oauth-authorization-server' }),
};
