import { exportedLog } from '../../../../shared/audit/exported-log.ts';
import type { ExportedLog } from '../../../../shared/audit/log-proofs.ts';
import { accountIssuer } from '../../../../shared/auth/account-issuer.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import type { Engines } from '../../../../shared/host/engines/engines.ts';
import { personalDataOf, type PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { readDevelopmentUrl } from '../../development-file.ts';

/** Opens personal data and the keys of the vault with the operator's master key. */
export const openPersonalData = (engines: Pick<Engines, 'eventStore' | 'keyVault'>, settings: Settings): PersonalData =>
  personalDataOf({ ...engines, masterKey: loadMasterKey(settings), clock: systemClock });

/** Opens the log under the name that the account service gives it. */
export const openExportedLog = (
  { keys, ...engines }: Pick<Engines, 'eventStore' | 'readStore'> & Pick<PersonalData, 'keys'>,
  settings: Settings,
): ExportedLog => {
  const ownUrl = () => readDevelopmentUrl(settings.DATA_DIR) ?? accountIssuer(settings).issuer();
  return exportedLog({ ...engines, keys, ownUrl, witnesses: settings.LOG_WITNESSES });
};
