// What the bench uses of Better Auth, whose package is installed only when logins are measured.

declare module 'better-auth' {
  import type { Plugin } from 'better-auth/plugins';
  export interface Options {
    baseURL: string;
    secret: string;
    database: object;
    trustedOrigins: string[];
    rateLimit: { enabled: boolean };
    logger: { disabled: boolean };
    telemetry: { enabled: boolean };
    plugins: Plugin[];
  }
  export interface Auth {
    handler: (request: Request) => Promise<Response>;
  }
  export const betterAuth: (options: Options) => Auth;
}

declare module 'better-auth/db/migration' {
  import type { Options } from 'better-auth';
  export const getMigrations: (options: Options) => Promise<{ runMigrations: () => Promise<void> }>;
}

declare module 'better-auth/node' {
  import type { IncomingMessage, ServerResponse } from 'node:http';
  import type { Auth } from 'better-auth';
  export const toNodeHandler: (auth: Auth) => (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

declare module 'better-auth/plugins' {
  export interface Plugin {
    id: string;
  }
  export const siwe: (options: {
    domain: string;
    anonymous: boolean;
    getNonce: () => Promise<string>;
    verifyMessage: (signed: { message: string; signature: string; address: string }) => Promise<boolean>;
  }) => Plugin;
  export const emailOTP: (options: { sendVerificationOTP: () => Promise<void> }) => Plugin;
}
