import { closeEngines, describeEngines, openEngines, type EngineName } from './engines.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { untilAborted } from '../primitives/until-aborted.ts';
import type { StartingProcess } from './run-process.ts';

/** Opens these engines, which are closed at the end, and says what they are before anything starts on them. @throws CannotStart */
export const openFoundation = async <Name extends EngineName>(
  { settings, logger, shutdown }: StartingProcess,
  names: readonly Name[],
) => {
  const engines = await untilAborted(openEngines(settings, logger, names), shutdown.signal);
  shutdown.add('engines', () => closeEngines(engines));
  logger.info(describeEngines(settings, names), 'engines');
  return { settings, logger, clock: systemClock, ids: systemIds, ...engines };
};
