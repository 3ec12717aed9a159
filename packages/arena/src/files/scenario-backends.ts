/** The backends of a scenario file: curve, slots and outages of each. */
import { type Curve, slowedBy } from '../simulation/curve.js';
import type { SimulatedBackend } from '../simulation/scenario.js';
import { curveAt } from './curve-file.js';
import type { Place } from './place.js';
import { validSpell } from './scenario-faults.js';
import { type Fields, validKeys, validList, validPositive, validWhole } from './valid.js';

const KEYS: readonly string[] = ['curve', 'factor', 'slots', 'outages'];
const MAX_BACKENDS = 256;
const MAX_SLOTS = 1024;
const MAX_OUTAGES = 1000;
const MAX_FACTOR = 1000;

/** @param curve that of backends which name none */
export function backendsAt(place: Place, fields: Fields, curve: Curve): readonly SimulatedBackend[] {
  if (fields.slots !== undefined) {
    throw place.key('slots').error('expected no slots beside backends: each backend has slots of its own.');
  }
  const here = place.key('backends');
  const what = 'backends { "curve", "factor", "slots", "outages" }';
  return validList(here, fields.backends, what, MAX_BACKENDS).map((value, i) =>
    validBackend(here.index(i), value, curve),
  );
}

function validBackend(place: Place, value: unknown, base: Curve): SimulatedBackend {
  const fields = validKeys(place, value, KEYS);
  const own =
    fields.curve === undefined
      ? base
      : curveAt(place.key('curve'), fields.curve, `${base.name} of a backend`, base.maxBatchSize);
  const factor = validPositive(place.key('factor'), fields.factor ?? 1, MAX_FACTOR);
  const { outages } = fields;
  return {
    curve: slowedBy(own, factor),
    slots: validWhole(place.key('slots'), fields.slots ?? 1, 1, MAX_SLOTS),
    ...(outages === undefined
      ? {}
      : {
          outages: validList(place.key('outages'), outages, 'outages { "at_ms", "ms" }', MAX_OUTAGES).map(
            (outage, i) => validSpell(place.key('outages').index(i), outage),
          ),
        }),
  };
}
