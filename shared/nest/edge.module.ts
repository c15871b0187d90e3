import { Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessTokens, type TokenIssuer } from './access-tokens.jose.ts';
import { AdmissionGuard } from './admission.guard.ts';
import { AnswerInterceptor } from './answer.interceptor.ts';
import { AppOrigins } from './app-origins.ts';
import { Dependencies } from './dependencies.ts';
import { Health, type Readiness } from './health.ts';
import { HealthHttp } from './health.http.ts';
import { RateLimits } from './rate-limits.ts';
import { ReadModels } from './read-models.ts';
import { RequestLedger } from './request-ledger.ts';
import { SessionEnds } from './session-ends.ts';
import { READINESS, TOKEN_ISSUER } from './tokens.ts';

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
