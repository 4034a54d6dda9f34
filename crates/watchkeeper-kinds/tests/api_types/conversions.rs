//! Conversions to and from the types of k8s-openapi.

#[path = "../../src/kube_types/generated.rs"]
mod generated;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json, to_value};
use watchkeeper_kinds::api::apps::v1::{Deployment, DeploymentSpec};
use watchkeeper_kinds::api::core::v1::Pod;
use watchkeeper_kinds::api::meta::v1::LabelSelector;
use watchkeeper_kinds::{ConversionError, Quantity, Resource, k8s_openapi};
use watchkeeper_wire::typed::Message;

use crate::{Sample, chain, sample};
use generated::every_pair;

/// A visitor of the types of all resources, and those of k8s-openapi.
trait Visit {
    fn pair<T, U>(&mut self)
    where
        T: Message + Resource + Clone + PartialEq + TryFrom<U, Error = ConversionError>,
        U: Resource
            + TryFrom<T, Error = ConversionError>
            + Clone
            + PartialEq
            + Debug
            + Serialize
            + DeserializeOwned;
}

/// Defines a function that visits the types of all generated conversions.
macro_rules! convert {
    ($(crate::api::$group:ident::$version:ident::$kind:ident => $theirs:ty;)*) => {
        pub(super) fn every_pair(visit: &mut impl super::Visit) {
            $(visit.pair::<watchkeeper_kinds::api::$group::$version::$kind, $theirs>();)*
        }
    };
}

use convert;

#[test]
fn every_field_of_every_resource_is_that_of_k8s_openapi() {
    struct Same(usize);
    impl Visit for Same {
        fn pair<T, U>(&mut self)
        where
            T: Message + Resource + Clone + PartialEq + TryFrom<U, Error = ConversionError>,
            U: Resource
                + TryFrom<T, Error = ConversionError>
                + Clone
                + PartialEq
                + Debug
                + Serialize
                + DeserializeOwned,
        {
            let names = (T::group(), T::version(), T::kind(), T::plural());
            assert_eq!(names, (U::group(), U::version(), U::kind(), U::plural()));
            let sample = Sample::of(&names.0, &names.1, &names.2);
            let ours = sample.decoded::<T>();
            let theirs = U::try_from(ours.clone()).unwrap();
            let mut value = to_value(&theirs).unwrap();
            let members = value.as_object_mut().unwrap();
            assert_eq!(members.remove("kind").unwrap(), *names.2);
            assert!(members.remove("apiVersion").is_some());
            sample::remove_types_of_claims(&mut value);
            assert_eq!(value, sample.value);
            assert_eq!(T::try_from(theirs.clone()).unwrap(), ours);
            assert_eq!(U::try_from(T::try_from(theirs.clone()).unwrap()).unwrap(), theirs);
            self.0 += 1;
        }
    }
    let mut same = Same(0);
    every_pair(&mut same);
    assert!(same.0 > 90, "{} resources", same.0);
}

#[test]
fn fields_that_are_not_set_are_not_set_after_a_conversion() {
    let theirs = k8s_openapi::api::apps::v1::Deployment::default();
    let ours = Deployment::try_from(theirs.clone()).unwrap();
    let spec = DeploymentSpec::default().with_selector(LabelSelector::default()); // theirs is not an option
    assert_eq!(ours, Deployment::default().with_spec(spec));
    let again = k8s_openapi::api::apps::v1::Deployment::try_from(Deployment::default()).unwrap();
    assert_eq!((again.metadata, again.spec.replicas), (theirs.metadata, None));
}

#[test]
fn an_object_that_cannot_be_converted_is_an_error() {
    let limits = |cpu: &str| -> Value {
        json!({"spec": {"containers": [{"name": "web", "resources": {"limits": {"cpu": cpu}}}]}})
    };
    let theirs: k8s_openapi::api::core::v1::Pod = from_value(limits("much")).unwrap();
    let error = Pod::try_from(theirs).unwrap_err();
    let text = chain(&error);
    assert!(text.starts_with("failed to convert core.v1.Pod: "), "{text}");
    assert!(text.contains("expected a quantity such as 500m or 2Gi, found \"much\""), "{text}");

    let theirs: k8s_openapi::api::core::v1::Pod = from_value(limits("0.5")).unwrap();
    let ours = Pod::try_from(theirs).unwrap();
    assert_eq!(ours.spec.containers[0].resources.limits["cpu"], "500m".parse::<Quantity>().unwrap());
}
