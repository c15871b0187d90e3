import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { serviceUrl } from '../../shared/config/service-url.ts';
import type { Settings } from '../../shared/config/settings.ts';

/** Returns where clients find the event catcher, from the settings of another process. @throws CannotStart */
export const eventUrlOf = ({
  EVENT_URL,
  EVENT_CATCHER_PORT,
  HOST,
}: Pick<Settings, 'EVENT_URL' | 'EVENT_CATCHER_PORT' | 'HOST'>): string => {
  if (EVENT_URL === undefined && EVENT_CATCHER_PORT === 0) {
    throw new CannotStart('EVENT_URL must be set, because EVENT_CATCHER_PORT is 0, any free port');
  }
  return EVENT_URL ?? serviceUrl(HOST, EVENT_CATCHER_PORT);
};
