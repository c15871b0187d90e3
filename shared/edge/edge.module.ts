import { Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessTokens, type TokenIssuer } from '../auth/access-tokens.jose.ts';
import { AppEnds } from '../auth/app-ends.ts';
import { AppOrigins } from '../auth/app-origins.ts';
import { SessionEnds } from '../auth/session-ends.ts';
import type { Foundation } from '../host/foundation.ts';
import { Health } from '../host/health/health.ts';
import { ProcessHealth } from '../host/health/process-health.ts';
import { AdmissionGuard } from './admission.guard.ts';
import { AppCallers } from './app-callers.ts';
import { ConnectionCallers } from './connection-callers.ts';
import { AnswerInterceptor } from './answers/answer.interceptor.ts';
import { HealthHttp } from './health.http.ts';
import { AsOfParameter } from './requests/as-of.ts';
import { EventTimes } from './requests/event-times.ts';
import { IdempotentRequests } from './requests/idempotent-requests.ts';
import { PositionHeader } from './answers/position-header.ts';
import { Projections } from './answers/projections.ts';
import { RateLimits } from './limits/rate-limits.ts';
import { TOKEN_ISSUER } from './tokens.ts';

@Module({})
class EdgeModule {}

/** Makes the `AppCallers` of a service that has routes for apps. */

interface EdgeOptions {
  foundation: Foundation;
  appCallers: AppCallers | undefined;
  connectionCallers: ConnectionCallers | undefined;
  limits: RateLimits;
  positions: PositionHeader;
  issuer: TokenIssuer;
  health: Health;
  origins: AppOrigins;
}

/** Binds what all controllers of a service share. Requires `foundationModule` beside it. */
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
    { provide: EventTimes, useValue: new EventTimes(foundation) },
    AsOfParameter,
  ];
  return {
    module: EdgeModule,
    global: true,
    controllers: [HealthHttp],
    providers: [
      ...shared,
      ...(appCallers ? [{ provide: AppCallers, useValue: appCallers }] : []),
      ...(connectionCallers ? [{ provide: ConnectionCallers, useValue: connectionCallers }] : []),
      IdempotentRequests,
      { provide: APP_GUARD, useClass: AdmissionGuard },
      { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
    ],
    exports: shared,
  };
};
