import type { TokenIssuer } from '../../shared/nest/access-tokens.jose.ts';
import { createService, type RunningService } from '../../shared/nest/create-service.ts';
import type { Foundation } from '../../shared/nest/foundation.module.ts';
import { StreamModule } from './stream.module.ts';
import { LatestFeed } from './subscriptions/latest-feed.ts';

/** Starts the stream service; the foundation must have a message bus. Ready when all that was published has been read. */
export const startStream = async (foundation: Foundation, issuer: TokenIssuer): Promise<RunningService> => {
  const { HOST, STREAM_PORT } = foundation.settings;
  let feed: LatestFeed | undefined;
  return createService({
    module: StreamModule,
    foundation,
    issuer,
    host: HOST,
    port: STREAM_PORT,
    readiness: { caughtUp: () => feed?.tail.isCaughtUp ?? false },
    configure: (app) => {
      feed = app.get(LatestFeed);
    },
  });
};
