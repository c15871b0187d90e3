import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessTokens, type TokenIssuer } from '../auth/access-tokens.jose.ts';
import { AppEnds } from '../auth/app-ends.ts';
import { AppOrigins } from '../auth/app-origins.ts';
import { SessionEnds } from '../auth/session-ends.ts';
import type { Foundation } from '../host/foundation.ts';
import { Health } from '../host/health.ts';
import { ProcessHealth } from '../host/process-health.ts';
import { AdmissionGuard } from './admission.guard.ts';
import { AppCallers } from './app-callers.ts';
import { ConnectionCallers } from './connection-callers.ts';
import { AnswerInterceptor } from './answer.interceptor.ts';
import { HealthHttp } from './health.http.ts';
import { IdempotentRequests } from './idempotent-requests.ts';
import { PositionHeader } from './position-header.ts';
import { Projections } from './projections.ts';
import { RateLimits } from './rate-limits.ts';
import { TOKEN_ISSUER } from './tokens.ts';

@Module({})
class EdgeModule {}

/** Makes the `AppCallers` of a service that has routes for apps. */
export type AppCallersProvider = Pick<FactoryProvider<AppCallers>, 'useFactory' | 'inject'>;

interface EdgeOptions {
  foundation: Foundation;
  appCallers: AppCallersProvider | undefined;
  connectionCallers: ConnectionCallers | undefined;
  limits: RateLimits;
  positions: PositionHeader;
  issuer: TokenIssuer;
  health: Health;
  origins: AppOrigins;
}

/** Binds what all controllers of a service share. It needs `foundationModule` beside it. */
export const edgeModule = (options: EdgeOptions): DynamicModule => {
  const { foundation, issuer, appCallers, connectionCallers, limits, positions, health, origins } = options;
  const { clock } = foundation;
  const appEnds = new AppEnds(foundation);
  const shared = [
    { provide: TOKEN_ISSUER, useValue: issuer },
    { provide: AccessTokens, useValue: new AccessTokens(issuer, clock, new SessionEnds(foundation), appEnds) },
    { provide: AppEnds, useValue: appEnds },
    { provide: AppOrigins, useValue: origins },
    { provide: Health, useValue: health },
    { provide: ProcessHealth, useValue: foundation.processHealth },
    { provide: RateLimits, useValue: limits },
    Projections,
    { provide: PositionHeader, useValue: positions },
  ];
  return {
    module: EdgeModule,
    global: true,
    controllers: [HealthHttp],
    providers: [
      ...shared,
      ...(appCallers ? [{ provide: AppCallers, ...appCallers }] : []),
      ...(connectionCallers ? [{ provide: ConnectionCallers, useValue: connectionCallers }] : []),
      IdempotentRequests,
      { provide: APP_GUARD, useClass: AdmissionGuard },
      { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
    ],
    exports: shared,
  };
};
