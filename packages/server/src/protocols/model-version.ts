/** Models have one version: a change of the model is a change of the deployment. Both protocols want a number. */
export const MODEL_VERSION = '1';
