import { Wallet } from 'ethers';
import type { DevelopmentFile } from '../../../../schemas/development-file.ts';
import { AnnalsError, type AnnalsClient, type Session } from '../../../../shared/client/annals-client.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { systemClock, type Clock } from '../../../../shared/primitives/clock.ts';
import { developmentClient } from '../../development-client.ethers.ts';

/** A check of one case takes less than what is left of a token then. */
const RENEW_BEFORE_MS = 5 * 60_000;

/** Signs in at a development start as a user that nobody else is. */
export class DevelopmentSignIn {
  private readonly wallet = Wallet.createRandom();
  private readonly client: AnnalsClient;
  private current: Session | undefined;

  constructor(
    private readonly development: DevelopmentFile,
    private readonly clock: Clock = systemClock,
  ) {
    this.client = developmentClient(development, { repeats: 0 });
  }

  /** @throws CannotStart if the account service does not answer, or refuses */
  async token(): Promise<string> {
    if (!this.current || this.current.accessTokenExpire - this.clock.now() < RENEW_BEFORE_MS)
      this.current = await this.signIn();
    return this.current.accessToken;
  }

  private async signIn(): Promise<Session> {
    try {
      return await this.client.login.wallet(this.wallet);
    } catch (error) {
      if (!(error instanceof AnnalsError)) throw error;
      const { accountUrl } = this.development;
      const detail =
        error.code === 'network_error'
          ? `${accountUrl} does not answer: run npm start in another terminal first`
          : `${accountUrl} refused the sign-in: ${error.message}`;
      throw new CannotStart(detail, { cause: error });
    }
  }
}
