import { Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessTokens, type TokenIssuer } from '../auth/access-tokens.jose.ts';
import { AdmissionGuard } from './admission.guard.ts';
import { AnswerInterceptor } from './answer.interceptor.ts';
import { AppOrigins } from '../auth/app-origins.ts';
import { Dependencies } from '../host/dependencies.ts';
import { Health, type Readiness } from '../host/health.ts';
import { HealthHttp } from './health.http.ts';
import { RateLimits } from './rate-limits.ts';
import { ReadModels } from './projections.ts';
import { RequestLedger } from './idempotent-requests.ts';
import { SessionEnds } from '../auth/session-ends.ts';
import { READINESS, TOKEN_ISSUER } from '../host/tokens.ts';

@Module({})
class EdgeModule {}

interface EdgeOptions {
  issuer: TokenIssuer;
  readiness: Readiness;
  origins: AppOrigins;
}

/** Binds what the ways in of every service share; needs `foundationModule` beside it. */
export const edgeModule = ({ issuer, readiness, origins }: EdgeOptions): DynamicModule => {
  const shared = [AccessTokens, SessionEnds, RateLimits, ReadModels, Dependencies, Health];
  return {
    module: EdgeModule,
    global: true,
    controllers: [HealthHttp],
    providers: [
      { provide: TOKEN_ISSUER, useValue: issuer },
      { provide: READINESS, useValue: readiness },
      { provide: AppOrigins, useValue: origins },
      ...shared,
      RequestLedger,
      { provide: APP_GUARD, useClass: AdmissionGuard },
      { provide: APP_INTERCEPTOR, useClass: AnswerInterceptor },
    ],
    exports: [TOKEN_ISSUER, AppOrigins, ...shared],
  };
};
